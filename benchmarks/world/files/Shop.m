#import <Foundation/Foundation.h>
#import "Shop.h"

NS_ASSUME_NONNULL_BEGIN

/* A shop
   sells. */
@interface Shop ()
@property (nonatomic, strong) NSMutableArray<Order *> *orders;
@property (nonatomic, assign) NSInteger limit;
@end

@implementation Shop

- (instancetype)initWithLimit:(NSInteger)limit {
    self = [super init];
    if (self) {
        _limit = limit;
        _orders = [NSMutableArray array];
    }
    return self;
}

#pragma mark - Orders

- (BOOL)addOrder:(Order *)order
           error:(NSError **)error {
    if (self.orders.count >= self.limit) {
        if (error) {
            *error = [NSError errorWithDomain:@"shop"
                                         code:1
                                     userInfo:nil];
        }
        return NO;
    }
    [self.orders addObject:order];
    return YES;
}

- (void)eachOrder:(void (^)(Order *order))block {
    for (Order *order in self.orders) {
        block(order);
    }
}

@end

NS_ASSUME_NONNULL_END
