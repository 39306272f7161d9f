<%@ page contentType="text/html" pageEncoding="UTF-8" %>
<%@ taglib prefix="c" uri="http://java.sun.com/jsp/jstl/core" %>
<%-- the list
     of orders --%>
<html>
<body>
<h1>Orders</h1>
<c:choose>
  <c:when test="${not empty orders}">
    <c:forEach items="${orders}" var="order">
      <p>${order.number}</p>
    </c:forEach>
  </c:when>
  <c:otherwise>
    <p>none</p>
  </c:otherwise>
</c:choose>
<%
  int total = 0;
  for (Order each : orders) {
    total += each.count();
  }
%>
<p><%= total %></p>
</body>
</html>
